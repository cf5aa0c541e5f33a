# mcp 2.x for our own Python set.
# Remove this folder, and the override in ../overlay.nix, once the locked nixpkgs carries
# mcp >= 2.2: until then its mcp is 1.x, which has neither MCPServer nor stateless clients.
# Until it is removed it steps aside by itself.
final: prev:
let
  carried = prev.mcp.version or "0";
  tooOld = builtins.compareVersions carried "2.2" < 0;
in
{
  mcp = if tooOld then final.callPackage ./mcp.nix { } else prev.mcp;
  mcp-types = if tooOld then final.callPackage ./mcp-types.nix { } else prev.mcp-types;
}
