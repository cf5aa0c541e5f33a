# What the options page of a host is made from. Issue 11, 14 and 18.
{ lib, evaluate }:
let
  source = toString ../../../nix/module;
  oneLine = text: lib.replaceStrings [ "\n" ] [ " " ] (lib.trim text);
  without = what: map (option: option.name) (lib.filter (option: !what option) evaluate.documented);
in
{
  "test the page of each option names the file that declares it" = {
    expr = without (
      option:
      lib.length option.declarations == 1
      && lib.all (file: lib.hasPrefix "${source}/" file) option.declarations
      && lib.all lib.pathIsRegularFile option.declarations
    );
    expected = [ ];
  };
  "test each option says what it is, in a sentence" = {
    expr = without (option: lib.match "[A-Z].*[.:]" (oneLine option.description) != null);
    expected = [ ];
  };
  "test each option has a default, which says no path of the machine that made the page" = {
    expr = without (
      option: option ? default && !lib.hasInfix "/nix/store" (option.default.text or "")
    );
    expected = [ ];
  };
  "test the module is one for NixOS alone" = {
    expr =
      (builtins.tryEval (
        (lib.evalModules {
          class = "homeManager";
          modules = [ evaluate.modules.agent ];
        }).options.hyperhive
      )).success;
    expected = false;
  };
}
