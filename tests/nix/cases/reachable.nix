# A daemon that others than its machine may reach wants a token. Issue 11, 13.
{ lib, evaluate }:
let
  scout = more: evaluate.config ([ ../agents/scout.nix ] ++ lib.toList more);
  says = more: evaluate.failures (scout more);
in
{
  "test a host beyond the loopback is refused without a token" = {
    expr =
      map
        (
          host:
          says {
            hyperhive.subagent.settings = { inherit host; };
          } == [ ]
        )
        [
          "127.0.0.1"
          "127.0.0.2"
          "localhost"
          "::1"
          "0.0.0.0"
          "::"
          "192.168.1.2"
          "box.lan"
          "127.example.org"
        ];
    expected = [
      true
      true
      true
      true
      false
      false
      false
      false
      false
    ];
  };
  "test a host beyond the loopback is told what to do" = {
    expr = says { hyperhive.subagent.settings.host = "0.0.0.0"; };
    expected = [
      "hyperhive.subagent.settings.host is 0.0.0.0, which others than this machine may reach, and there is no token: whoever reaches the port would command the subagents. Set hyperhive.subagent.authTokenFile, or leave host on the loopback."
    ];
  };
  "test a host beyond the loopback is taken with a token" = {
    expr = map says [
      {
        hyperhive.subagent.settings.host = "0.0.0.0";
        hyperhive.subagent.authTokenFile = "/run/secrets/token";
      }
      {
        hyperhive.subagent.settings.host = "0.0.0.0";
        systemd.services.hive-subagent-daemon.environment.HIVE_SUBAGENT_AUTH_TOKEN_FILE = "/run/t";
      }
    ];
    expected = [
      [ ]
      [ ]
    ];
  };

  "test a socket beyond the loopback is refused without a token" = {
    expr =
      map
        (
          socket:
          says {
            systemd.sockets.hive-subagent-daemon = socket;
          } == [ ]
        )
        [
          { socketConfig.ListenStream = "127.0.0.2:8717"; }
          { socketConfig.ListenStream = "[::1]:8717"; }
          { socketConfig.ListenStream = "0.0.0.0:8717"; }
          { socketConfig.ListenStream = 8717; }
          {
            socketConfig.ListenStream = [
              "127.0.0.1:8717"
              "192.168.1.2:8717"
            ];
          }
          { listenStreams = [ "[::]:8717" ]; }
        ];
    expected = [
      true
      true
      false
      false
      false
      false
    ];
  };
  "test a socket beyond the loopback is told what to do" = {
    expr = map says [
      { systemd.sockets.hive-subagent-daemon.socketConfig.ListenStream = "0.0.0.0:8717"; }
      {
        systemd.sockets.hive-subagent-daemon.socketConfig.ListenStream = "0.0.0.0:8717";
        hyperhive.subagent.authTokenFile = "/run/secrets/token";
      }
    ];
    expected = [
      [
        "systemd.sockets.hive-subagent-daemon listens on 0.0.0.0:8717, which others than this machine may reach, and there is no token: whoever reaches the port would command the subagents. Set hyperhive.subagent.authTokenFile, or leave the socket on the loopback."
      ]
      [ ]
    ];
  };
}
