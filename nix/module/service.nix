# The unit. docs/explanation/unit.md says how its lines work together.
# Everything is a default: `systemd.services.hive-subagent-daemon.serviceConfig.X = ...` changes X.
{ config, lib, ... }:
let
  cfg = config.hyperhive.subagent;
  grace = cfg.settings.shutdown_grace_s or 10;
  # what is no number the daemon refuses by name
  shutdownGrace = if lib.isInt grace || lib.isFloat grace then builtins.ceil grace else 10;
  # `or`: beside a host's own tree the leaves are the host's
  forSubagents = lib.filterAttrs (
    _: entry: (entry.enable or true) == true && (entry.availableToSubagents or false) == true
  ) config.hyperhive.extraMcpServers;

  lifecycle = {
    ExecStart = "${lib.getExe' cfg.package "hive-subagent-daemon"} --config ${cfg.configFile}";
    User = cfg.user;
    WorkingDirectory = if cfg.workDir != null then cfg.workDir else "~";

    # ready when it serves, so that nothing is started too early
    Type = "notify";
    # petted by the daemon's event loop: a loop that hangs for this long is not coming back
    WatchdogSec = 30;

    # a new start reports the runs that a crash ended. After SIGHUP and SIGQUIT the daemon exits
    # with 0, as after SIGTERM, which "on-failure" would leave so; `systemctl stop` is never
    # answered by a restart ...
    Restart = "always";
    RestartSec = 2;
    # ... but a bad configuration (2) or a taken port (3) stays as it is until somebody fixes it
    RestartPreventExitStatus = "2 3";

    # SIGTERM goes to the daemon alone, which ends its children step by step and tells of them;
    # what is left in the cgroup when it is gone, systemd kills at once
    KillMode = "mixed";
    # more than the daemon takes for all children together, or systemd would cut it short
    TimeoutStopSec = shutdownGrace + 15;

    StateDirectory = "hive-subagent";
    StateDirectoryMode = "0700";
    RuntimeDirectory = "hive-subagent";
    RuntimeDirectoryMode = "0700";
  };

  # systemd takes addresses, no names; behind another name the daemon binds its port by itself
  given = cfg.settings.host or "127.0.0.1";
  address =
    if given == "localhost" then
      "127.0.0.1"
    else if lib.hasInfix ":" given then
      "[${given}]"
    else
      given;
  isAddress = lib.hasInfix ":" given || builtins.match "[0-9.]+" address != null;

  memory = {
    # one subagent that is killed for memory must not take the daemon, which has to tell of it,
    # nor the others; systemd's own default is to stop the whole unit
    OOMPolicy = "continue";
    # systemd-oomd ends a whole cgroup at once: under pressure it should look elsewhere first
    ManagedOOMPreference = "avoid";
    # the subtree is the daemon's, to give each run a leaf with limits of its own, and as much of
    # the CPU as any other, however many processes it has
    Delegate = "cpu memory pids";
    # cgroup v2 allows no processes beside child groups, so the daemon starts in a leaf
    DelegateSubgroup = "supervisor";
  }
  // lib.optionalAttrs (cfg.serviceMemoryMax != null) {
    MemoryMax = cfg.serviceMemoryMax;
    # else the limit would be met by slow swapping instead of a clear ending
    MemorySwapMax = 0;
  };

  # without one systemd takes the account's own
  account = lib.optionalAttrs (cfg.group != null) { Group = cfg.group; };

  # lists at plain priority: what an operator adds comes beside ours and drops none of it
  merging =
    lib.optionalAttrs (cfg.authTokenFile != null) {
      # systemd reads it as root and shows it to this unit alone
      LoadCredential = [ "auth-token:${toString cfg.authTokenFile}" ];
    }
    // lib.optionalAttrs (cfg.environmentFile != null) {
      EnvironmentFile = [ cfg.environmentFile ];
    }
    // {
      # what clients and `ip` use, without packet, vsock and exotic sockets
      RestrictAddressFamilies = [ "AF_UNIX AF_INET AF_INET6 AF_NETLINK" ];
      # only system calls that no tool of an unprivileged user needs; @mount and @debug stay, for
      # bubblewrap and debuggers
      SystemCallFilter = [ "~@clock @module @obsolete @raw-io @reboot @swap" ];
    };

  hardening = {
    # no way up through sudo or another set-uid program
    NoNewPrivileges = true;
    # none is needed to supervise processes of one's own user
    CapabilityBoundingSet = "";
    # /usr, /boot and /etc. Not "strict": a call may name any directory to work in
    ProtectSystem = "full";
    # nothing that claude's tools are for
    ProtectKernelModules = true;
    ProtectClock = true;
    # processes of other users are not for a subagent to look at
    ProtectProc = "invisible";
    # processes and threads of all runs together; each run has a limit of its own, 4096. systemd's
    # default, 15 % of what the kernel allows, can be less than one run's on a small machine, and the
    # daemon could then start nothing
    TasksMax = 16384;
    # real-time scheduling could starve the daemon
    RestrictRealtime = true;
    # a filtered call is refused like any other refusal, instead of death by SIGSYS
    SystemCallErrorNumber = "EPERM";
    # tokens and prompts are in memory; a tool may raise the limit for itself
    LimitCORE = "0:infinity";
    # three pipes, a pidfd and sockets for each of many children
    LimitNOFILE = 65536;
    # The rest is off because something needs it off. Not named at all are ProtectHostname,
    # ProtectKernelLogs and ProtectKernelTunables, which mask parts of /proc, so that bubblewrap can
    # mount none of its own; without capabilities they would add nothing.
    # the delegated subtree has to stay writable
    ProtectControlGroups = false;
    # the parent agent hands over briefs in /tmp
    PrivateTmp = false;
    # claude's home and the work lie there
    ProtectHome = false;
  };
in
{
  config = lib.mkIf cfg.enable {
    # systemd holds the port, so that while the daemon restarts nobody else can take it and be sent
    # the owner's token; calls wait in the queue meanwhile
    systemd.sockets = lib.mkIf isAddress {
      hive-subagent-daemon = {
        description = "Port of the supervisor of nested Claude Code sessions";
        wantedBy = [ "sockets.target" ];
        socketConfig = lib.mapAttrs (_: lib.mkDefault) {
          ListenStream = "${address}:${toString config.hyperhive.mcp.subagentHttpPort}";
          Backlog = 4096;
          # an address that comes up later, of a VPN say
          FreeBind = true;
          FileDescriptorName = "http";
        };
      };
    };

    systemd.services.hive-subagent-daemon = {
      description = "Supervisor of nested Claude Code sessions";
      wantedBy = [ "multi-user.target" ];
      # not `requires`: where the port is taken the daemon itself says so, and ends with 3
      wants = lib.optional isAddress "hive-subagent-daemon.socket";
      after = [ "network.target" ] ++ lib.optional isAddress "hive-subagent-daemon.socket";
      # a daemon that keeps dying is left alone after a while
      startLimitIntervalSec = 300;
      startLimitBurst = 10;

      # they are read when the daemon starts; a change elsewhere in the file costs no run its life
      restartTriggers = lib.optional (forSubagents != { }) (builtins.toJSON forSubagents);

      inherit (cfg) path restartIfChanged;
      environment = {
        # a system account has no login shell, and claude's Bash tool takes the one it finds here
        SHELL = lib.mkDefault "/run/current-system/sw/bin/bash";
      }
      // lib.optionalAttrs (cfg.authTokenFile != null) {
        HIVE_SUBAGENT_AUTH_TOKEN_FILE = "%d/auth-token";
      };

      serviceConfig =
        lib.mapAttrs (_: lib.mkDefault) (lifecycle // account // memory // hardening) // merging;
    };
  };
}
