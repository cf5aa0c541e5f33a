# What the options page of a host is made from. Issue 11, 14 and 18.
{ lib, evaluate }:
let
  source = toString ../../../nix/module;
  oneLine = text: lib.replaceStrings [ "\n" ] [ " " ] (lib.trim text);
  without = what: map (option: option.name) (lib.filter (option: !what option) evaluate.documented);
  names = map (option: option.name) evaluate.documented;
  # what a description names, like `hyperhive.subagent.user`
  named =
    text: map lib.head (lib.filter lib.isList (builtins.split "`(hyperhive[.][A-Za-z.]+)" text));
  isOption = name: lib.any (each: each == name || lib.hasPrefix "${name}." each) names;
in
{
  "test each option that a description names is one" = {
    expr = lib.filter (name: !isOption name) (
      lib.concatMap (option: named option.description) evaluate.documented
    );
    expected = [ ];
  };
  "test the page of each option names the file that declares it" = {
    expr = without (
      option:
      lib.length option.declarations == 1
      && lib.all (file: lib.hasPrefix "${source}/" file) option.declarations
      && lib.all lib.pathIsRegularFile option.declarations
      && lib.all (
        file: lib.hasInfix "${lib.last option.loc} = mkOption" (builtins.readFile file)
      ) option.declarations
    );
    expected = [ ];
  };
  "test each option says what it is, in a sentence" = {
    expr = without (option: lib.match "[A-Z].*[.:]" (oneLine option.description) != null);
    expected = [ ];
  };
  "test each option has a default, which says no value of the machine that made the page" = {
    expr = without (
      option:
      option ? default
      && !lib.any (made: lib.hasInfix made (option.default.text or "")) [
        "/nix/store"
        "<derivation"
      ]
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
