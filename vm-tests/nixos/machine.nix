# What the machine of every scenario has beside the agent.
{ self, system }:
{ pkgs, ... }:
{
  hyperhive.subagent.claudePackage = self.packages.${system}.stub-claude;

  # the driver's default is to panic, and here a process that is killed for memory is the point
  boot.kernel.sysctl."vm.panic_on_oom" = 0;
  documentation.nixos = {
    includeAllModules = true;
    options.warningsAreErrors = true;
  };
  environment = {
    etc."hive-test/client.py".source = ../client.py;
    systemPackages = [
      # bubblewrap is the sandbox that claude's own tools may use
      pkgs.bubblewrap
      pkgs.python3
      (pkgs.writeScriptBin "lookup-mcp" (builtins.readFile ../lookup-mcp.py))
    ];
  };
  # an agent that names directories or secrets finds them
  systemd.tmpfiles.rules = [
    "d /home/agent/work 0755 agent users"
    "d /home/agent/.claude 0700 agent users"
    "f /var/lib/secrets/subagent-token 0400 root root - the-token-of-vault"
    "f /var/lib/secrets/claude.env 0400 root root - ANTHROPIC_API_KEY=of-vault"
  ];
  virtualisation.memorySize = 1024;
}
