# Which mcp our Python set gets, whatever the host's nixpkgs carries (issue 11, 8).
{ lib, ... }:
let
  # what a Python set with these packages holds afterwards; our own are named by their files
  chosen =
    carried:
    let
      set = lib.fix (
        lib.extends (import ../../../nix/python/overrides.nix) (
          _:
          {
            callPackage = file: _: { version = baseNameOf file; };
          }
          // lib.mapAttrs (_: version: { inherit version; }) carried
        )
      );
    in
    {
      mcp = set.mcp.version;
      types = set.mcp-types.version;
    };
  ours = {
    mcp = "mcp.nix";
    types = "mcp-types.nix";
  };
in
{
  "test ours is taken where nixpkgs has an mcp that is too old, or none" = {
    expr = map chosen [
      { }
      { mcp = "1.29.0"; }
      { mcp = "2.1.9"; }
      {
        mcp = "1.29.0";
        mcp-types = "1.29.0";
      }
      {
        mcp = "1.29.0";
        mcp_2 = "2.1.0";
      }
    ];
    expected = lib.replicate 5 ours;
  };

  "test a recent mcp of nixpkgs is taken with its types" = {
    expr = map chosen [
      {
        mcp = "2.2.0";
        mcp-types = "2.2.0";
      }
      {
        mcp = "2.10.0";
        mcp-types = "2.10.0";
      }
    ];
    expected = [
      {
        mcp = "2.2.0";
        types = "2.2.0";
      }
      {
        mcp = "2.10.0";
        types = "2.10.0";
      }
    ];
  };

  "test an mcp_2 is taken beside an mcp of the first version" = {
    expr = chosen {
      mcp = "1.29.0";
      mcp_2 = "2.2.0";
      mcp-types = "2.2.0";
    };
    expected = {
      mcp = "2.2.0";
      types = "2.2.0";
    };
  };

  "test the types are ours where nixpkgs has none, or those of another version" = {
    expr = map chosen [
      { mcp = "2.3.0"; }
      {
        mcp = "2.3.0";
        mcp-types = "2.2.0";
      }
    ];
    expected = lib.replicate 2 {
      mcp = "2.3.0";
      types = "mcp-types.nix";
    };
  };
}
