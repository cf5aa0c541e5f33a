{
  writeShellApplication,
  hive-subagent,
  stub-claude,
}:

writeShellApplication {
  name = "hive-subagent-demo";
  runtimeInputs = [
    hive-subagent
    stub-claude
  ];
  text = ''
    home=$(mktemp -d)
    trap 'rm -rf "$home"' EXIT
    export CLAUDE_CONFIG_DIR=$home/claude STATE_DIRECTORY=$home/state RUNTIME_DIRECTORY=$home/run
    echo "A daemon with the scripted stand-in for claude, in $home; its address follows."
    hive-subagent-daemon --port 0
  '';
}
