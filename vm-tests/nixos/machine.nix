# What the machine of every scenario has beside the agent.
{ self, system }:
{ lib, pkgs, ... }:
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
    systemPackages = [ pkgs.python3 ];
  };
  # an agent that names secrets finds them
  systemd.tmpfiles.rules = [
    "f /var/lib/secrets/subagent-token 0400 root root - the-token-of-vault"
    "f /var/lib/secrets/claude.env 0400 root root - ANTHROPIC_API_KEY=of-vault"
  ];
  users.users.agent.group = lib.mkDefault "users";
  virtualisation.memorySize = 1024;
}
