# What the machine of every scenario has.
{ pkgs, ... }:
{
  # the driver's default is to panic, and here a process that is killed for memory is the point
  boot.kernel.sysctl."vm.panic_on_oom" = 0;
  # of a scenario whose agents are in containers
  environment.systemPackages = [ pkgs.python3 ];
  virtualisation.memorySize = 1024;
}
