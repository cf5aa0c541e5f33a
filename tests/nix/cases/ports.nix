{ lib, evaluate }:
let
  port = name: (evaluate.config [ { networking.hostName = name; } ]).hyperhive.mcp.subagentHttpPort;
  names = lib.genList (n: "agent-${toString n}") 50;
in
{
  "test two agents get two ports, the same at every rebuild" = {
    expr = map port [
      "scout"
      "forge"
      "scout"
    ];
    expected = [
      20509
      25421
      20509
    ];
  };
  "test every port lies in the stated range" = {
    expr = lib.filter (p: p < 20000 || p > 27999) (map port names);
    expected = [ ];
  };
  "test the reference states the range" = {
    expr = (import ../../../nix/module/port.nix { inherit lib; }).range;
    expected = "20000–27999";
  };
  "test an own port reaches the daemon and the entry" = {
    expr =
      let
        own = evaluate.config [ { hyperhive.mcp.subagentHttpPort = 9717; } ];
      in
      {
        daemon = (evaluate.daemon own).port;
        entry = (evaluate.servers own).subagent.url;
      };
    expected = {
      daemon = 9717;
      entry = "http://127.0.0.1:9717/mcp";
    };
  };
}
