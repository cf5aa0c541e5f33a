# An agent with nothing but the import: every default.
{
  networking.hostName = "scout";
  users.users.agent.isNormalUser = true;
}
