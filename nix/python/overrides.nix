# mcp 2.x for our own Python set.
# Remove this folder, and the override in ../overlay.nix, once the locked nixpkgs carries
# mcp >= 2.2 under its own name: 1.x has neither MCPServer nor stateless clients. Until then this
# steps aside by itself for whatever nixpkgs has: a recent `mcp`, or `mcp_2` beside an `mcp` 1.x.
final: prev:
let
  recent = package: builtins.compareVersions (package.version or "0") "2.2" >= 0;
  carried = builtins.filter recent [
    (prev.mcp or { })
    (prev.mcp_2 or { })
  ];
  ours = {
    mcp = final.callPackage ./mcp.nix { };
    mcp-types = final.callPackage ./mcp-types.nix { };
  };
  mcp = builtins.head carried;
in
if carried == [ ] then
  ours
else
  {
    inherit mcp;
    # the two are released together
    mcp-types =
      if prev.mcp-types.version or null == mcp.version then prev.mcp-types else ours.mcp-types;
  }
