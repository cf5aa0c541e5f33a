# The entry beside each kind of host that declares `hyperhive.extraMcpServers` itself: it works, or
# an assertion says what to do. Issue 11, 12.
{ lib, evaluate }:
let
  inherit (lib) mkOption types;
  leaf = type: mkOption { inherit type; };
  leaves = {
    type = leaf types.str;
    url = leaf types.str;
    allowedTools = leaf (types.listOf types.str);
    availableToSubagents = leaf types.bool;
    headers = leaf (types.attrsOf types.str);
  };
  strict = without: types.attrsOf (types.submodule { options = removeAttrs leaves without; });

  withHeaders =
    type: types.attrsOf (types.submodule { options = leaves // { headers = leaf type; }; });
  takesMore =
    type:
    types.submodule {
      options.url = mkOption {
        type = types.nullOr types.str;
        default = null;
      };
      freeformType = type;
    };

  # kind of host -> type of its option
  kinds = {
    "a strict submodule" = strict [ ];
    "a submodule that takes more" = types.attrsOf (takesMore (types.attrsOf types.anything));
    "a submodule that takes more as it is" = types.attrsOf (
      takesMore (types.attrsOf types.unspecified)
    );
    "a submodule that takes attrs" = types.attrsOf (takesMore types.attrs);
    "a submodule or null that takes more" = types.attrsOf (
      types.nullOr (takesMore (types.attrsOf types.anything))
    );
    "a submodule with headers of attrs" = withHeaders types.attrs;
    "a submodule with headers of attrs or null" = withHeaders (types.nullOr types.attrs);
    "a submodule with headers of a string or attrs" = withHeaders (
      types.either types.str types.attrs
    );
    "a submodule with headers of unspecified" = withHeaders types.unspecified;
    "a submodule with headers of raw" = withHeaders types.raw;
    "a submodule that is lazy" = types.lazyAttrsOf (types.submodule { options = leaves; });
    "attrsOf anything" = types.attrsOf types.anything;
    "attrsOf attrs" = types.attrsOf types.attrs;
    "attrsOf unspecified" = types.attrsOf types.unspecified;
    "attrsOf raw" = types.attrsOf types.raw;
    "attrsOf attrsOf unspecified" = types.attrsOf (types.attrsOf types.unspecified);
    "JSON" = (evaluate.pkgs.formats.json { }).type;
    "attrs" = types.attrs;
    "unspecified" = types.unspecified;
    "raw" = types.raw;
  };
  # what an agent says is in another file, which may come before or after the module
  beside =
    type: agent:
    evaluate.beside (
      [
        {
          options.hyperhive = {
            mcp.subagentHttpPort = mkOption {
              type = types.port;
              default = 8717;
            };
            extraMcpServers = mkOption {
              default = { };
              inherit type;
            };
          };
          config.users.users.agent.isNormalUser = true;
        }
      ]
      ++ lib.toList agent
    );
  entry = config: builtins.fromJSON (builtins.toJSON config.hyperhive.extraMcpServers);
  whole = {
    subagent = {
      type = "http";
      url = "http://127.0.0.1:8717/mcp";
      allowedTools = [ "*" ];
      availableToSubagents = false;
      headers.X-Hive-Agent = "nixos";
    };
  };
  # an entry, and whether the host is told of anything
  result = type: agent: {
    servers = entry (beside type agent);
    failures = evaluate.failures (beside type agent);
  };
  works = servers: {
    inherit servers;
    failures = [ ];
  };
  onEach =
    what: agent: expected:
    lib.mapAttrs' (
      kind: type:
      lib.nameValuePair "test beside a host of ${kind} ${what}" {
        expr = result type agent;
        inherit expected;
      }
    );
  less.allowedTools = [ "status" ];
  keeping =
    agent:
    (result (types.attrsOf types.attrs) { hyperhive.extraMcpServers.subagent = agent; }).failures;
  replaceEntries = {
    inherit (kinds)
      "a submodule that takes attrs"
      "attrsOf raw"
      attrs
      raw
      unspecified
      ;
  };
  mergeParts = removeAttrs kinds (lib.attrNames replaceEntries);
  mergeHeaders = removeAttrs mergeParts [
    "a submodule with headers of raw"
    "attrsOf attrs"
    "attrsOf unspecified"
  ];
in
onEach "the entry is whole" { } (works whole) kinds
// onEach "entry.enable drops it" { hyperhive.subagent.entry.enable = false; } (works { }) kinds
// onEach "one part is changed and the others stay" {
  hyperhive.extraMcpServers.subagent.allowedTools = [ "status" ];
} (works { subagent = whole.subagent // { allowedTools = [ "status" ]; }; }) mergeParts
// onEach "a header is added and the agent's name stays" {
  hyperhive.extraMcpServers.subagent.headers.X-More = "1";
} (works { subagent = lib.recursiveUpdate whole.subagent { headers.X-More = "1"; }; }) mergeHeaders
// {
  "test a part changed where whole entries are replaced is an error that says so" = {
    expr = map (type: (result type { hyperhive.extraMcpServers.subagent = less; }).failures) (
      lib.attrValues replaceEntries
    );
    expected = lib.replicate 5 [
      "hyperhive.extraMcpServers.subagent has neither `url` nor `command`: on this host a definition replaces the whole entry instead of one part. Write all of it (url http://127.0.0.1:8717/mcp), or drop it with hyperhive.subagent.entry.enable = false."
    ];
  };

  "test a priority that a host would keep as a value is an error that says so" = {
    expr = [
      (keeping { allowedTools = lib.mkForce [ "status" ]; })
      (keeping { headers.X-Hive-Agent = lib.mkDefault "scout"; })
      (result types.attrs {
        hyperhive.extraMcpServers.subagent = lib.mkForce whole.subagent;
      }).failures
    ];
    expected = lib.replicate 3 [
      "hyperhive.extraMcpServers.subagent holds an mkForce or mkDefault that the option's type on this host does not resolve; write the value without it, or the whole entry with hyperhive.subagent.entry.enable = false."
    ];
  };

  "test an entry is for no subagent where the host's entries cannot say so" = {
    expr = result (strict [
      "allowedTools"
      "availableToSubagents"
    ]) { };
    expected = works {
      subagent = removeAttrs whole.subagent [
        "allowedTools"
        "availableToSubagents"
      ];
    };
  };

  "test a host whose entries have no headers is told what to do" = {
    expr = (result (strict [ "headers" ]) { }).failures;
    expected = [
      "hyperhive.extraMcpServers of this host has entries without `headers`, which the entry of the subagent daemon needs; declare it there (or set hyperhive.subagent.agentName and authTokenFile to null), or set hyperhive.subagent.entry.enable = false and write the entry in the host's way."
    ];
  };
  "test a host whose entries have no headers needs none where no caller has to show anything" = {
    expr = result (strict [ "headers" ]) { hyperhive.subagent.agentName = null; };
    expected = works { subagent = removeAttrs whole.subagent [ "headers" ]; };
  };
  "test a host whose entries have no address is told what to do" = {
    expr = evaluate.failures (
      beside (strict [
        "type"
        "url"
      ]) { }
    );
    expected = [
      "hyperhive.extraMcpServers of this host has entries without `type`, `url`, which the entry of the subagent daemon needs; declare it there, or set hyperhive.subagent.entry.enable = false and write the entry in the host's way."
    ];
  };

  "test an entry of the agent's own takes the place of the one that was dropped" = {
    expr =
      let
        config = evaluate.config [
          {
            hyperhive.subagent.entry.enable = false;
            hyperhive.extraMcpServers.subagent = {
              type = "http";
              url = "http://127.0.0.1:9000/mcp";
            };
          }
        ];
      in
      [
        (evaluate.servers config).subagent.url
        (evaluate.failures config)
      ];
    expected = [
      "http://127.0.0.1:9000/mcp"
      [ ]
    ];
  };
  "test what an agent changes of an entry that was dropped is harmless" = {
    expr =
      let
        config = evaluate.config [
          {
            hyperhive.subagent.entry.enable = false;
            hyperhive.extraMcpServers.subagent.allowedTools = [ "status" ];
          }
        ];
      in
      [
        (evaluate.servers config)
        (evaluate.failures config)
      ];
    expected = [
      { }
      [ ]
    ];
  };
}
