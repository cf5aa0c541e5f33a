# docs/reference/nixos-options.md from the options themselves.
{ lib }:
let
  evaluate = import ./evaluate.nix { inherit lib; };

  text = v: if lib.isAttrs v && v ? text then v.text else lib.generators.toPretty { } v;
  code =
    label: v:
    let
      it = lib.trim (text v);
    in
    if v._type or "" == "literalMD" then
      "${label}: ${it}\n"
    else if lib.hasInfix "\n" it then
      "${label}:\n\n```nix\n${it}\n```\n"
    else
      "${label}: `${it}`\n";

  entry =
    option:
    lib.concatStringsSep "\n" (
      [
        "## `${option.name}`"
        ""
        (lib.trim option.description)
        ""
        "Type: ${option.type}\n"
      ]
      ++ lib.optional (option ? default) (code "Default" option.default)
      ++ lib.optional (option ? example) (code "Example" option.example)
      ++ lib.optional option.readOnly "Read only.\n"
    );
in
''
  # NixOS options

  Generated from the module by `make nix-test UPDATE=1`; a test compares the two. How to use
  them: [operate on NixOS](../how-to/operate-on-nixos.md). What the unit does with them:
  [the unit](../explanation/unit.md).

''
+ lib.concatStringsSep "\n" (map entry evaluate.documented)
