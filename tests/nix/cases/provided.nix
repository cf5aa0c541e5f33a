# Warnings of accounts and directories that nothing in the configuration makes. Issue 11, 13.
{ lib, evaluate }:
let
  scout = more: evaluate.config ([ ../agents/scout.nix ] ++ lib.toList more);
in
{
  "test an account that nobody declares is warned of" = {
    expr = (scout { hyperhive.subagent.user = "nobody-here"; }).warnings;
    expected = [
      "hyperhive.subagent.user is \"nobody-here\", and users.users declares no such account; set it to the agent's account, or the unit will not start."
    ];
  };
  "test an account is known by its name, whatever its attribute is called" = {
    expr =
      map
        (
          user:
          (scout {
            users.users.worker.name = "scout-worker";
            hyperhive.subagent = { inherit user; };
          }).warnings == [ ]
        )
        [
          "scout-worker"
          "worker"
        ];
    expected = [
      true
      false
    ];
  };
  "test root needs no declaration" = {
    expr = (scout { hyperhive.subagent.user = "root"; }).warnings;
    expected = [ ];
  };

  "test a work directory that nothing provides is warned of" = {
    expr = (scout { hyperhive.subagent.workDir = "/srv/agent"; }).warnings;
    expected = [
      "hyperhive.subagent.workDir is /srv/agent, and neither an account's home nor systemd.tmpfiles nor fileSystems provides it; add it to systemd.tmpfiles.settings, or the unit will not start (200/CHDIR) until the directory exists."
    ];
  };
  "test a work directory that is provided is not warned of" = {
    expr =
      map
        (
          more:
          (scout [
            { hyperhive.subagent.workDir = lib.mkDefault "/srv/agent"; }
            more
          ]).warnings
        )
        [
          { hyperhive.subagent.workDir = "/home/agent"; }
          {
            users.users.worker = {
              createHome = true;
              home = "/srv/agent";
            };
          }
          { systemd.tmpfiles.rules = [ "d /srv/agent 0755 agent users" ]; }
          { systemd.tmpfiles.rules = [ ''d "/srv/agent" 0755 agent users'' ]; }
          { systemd.tmpfiles.settings.any."/srv/agent/deeper".d = { }; }
          { fileSystems."/srv/agent".device = "/dev/sdb"; }
          { fileSystems.agent.mountPoint = "/srv/agent"; }
          {
            hyperhive.subagent.workDir = "/srv/agent/";
            systemd.tmpfiles.settings.any."/srv/agent".d = { };
          }
          { hyperhive.subagent.workDir = "/tmp"; }
          { hyperhive.subagent.workDir = "/"; }
          { hyperhive.subagent.workDir = "/var/lib/hive-subagent"; }
        ];
    expected = lib.replicate 11 [ ];
  };
  "test a work directory beside what is provided is warned of" = {
    expr =
      map
        (
          more:
          lib.length
            (scout [
              { hyperhive.subagent.workDir = "/srv/agent"; }
              more
            ]).warnings
        )
        [
          { systemd.tmpfiles.rules = [ "d /srv/agents 0755 agent users" ]; }
          { systemd.tmpfiles.settings.any."/srv".d = { }; }
          # these change what is there, and make nothing
          { systemd.tmpfiles.rules = [ "z /srv/agent 0755 agent users" ]; }
          { systemd.tmpfiles.settings.any."/srv/agent".R = { }; }
          {
            users.users.worker = {
              createHome = false;
              home = "/srv/agent";
            };
          }
        ];
    expected = lib.replicate 5 1;
  };

  "test a home that nothing makes is warned of where it is the work directory" = {
    expr =
      let
        warnings =
          workDir:
          (scout {
            users.users.worker = {
              home = "/srv/worker";
            };
            hyperhive.subagent = {
              user = "worker";
              inherit workDir;
            };
          }).warnings;
      in
      map warnings [
        null
        "/home/agent"
      ];
    expected = [
      [
        "hyperhive.subagent.user is \"worker\", and nothing makes its home, /srv/worker; set createHome of the account, add the directory to systemd.tmpfiles.settings, or set hyperhive.subagent.workDir, or the unit will not start (200/CHDIR) until the directory exists."
      ]
      [ ]
    ];
  };
}
