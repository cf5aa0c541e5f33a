# A value as a definition of which an agent can change each part: `mkDefault` stands where an option or
# an `attrsOf` resolves it. A type that keeps values as they are would keep it, too, as a set.
{ lib }:
let
  isNamed = names: type: lib.elem type.name names;
  # holds values of another type
  isAround = isNamed [
    "nullOr"
    "unique"
  ];
  inside = type: if isAround type then inside type.nestedTypes.elemType else type;

  keepsAsItIs =
    type:
    isNamed [
      "attrs"
      "unspecified"
    ] type
    || (isAround type || isNamed [ "either" ] type)
      && lib.any keepsAsItIs (lib.attrValues type.nestedTypes);
  # takes one definition alone, or has parts that are kept as they are
  isWhole =
    type: isNamed [ "raw" ] (inside type) || freeform type != null && keepsAsItIs (freeform type);

  # what a submodule declares; nothing for another type
  declared =
    type:
    removeAttrs ((inside type).getSubOptions [ ]) [
      "_freeformOptions"
      "_module"
    ];
  freeform = type: (inside type).nestedTypes.freeformType or null;

  # type of one part, or null where the type does not say
  part =
    type: name:
    if (inside type).nestedTypes ? elemType then
      (inside type).nestedTypes.elemType
    else if declared type ? ${name} then
      (declared type).${name}.type
    else if freeform type != null then
      part (freeform type) name
    else
      null;

  define =
    type: value:
    if !lib.isAttrs value || type != null && isWhole type then
      lib.mkDefault value
    else if type == null then
      lib.mapAttrs (_: define null) value
    else if keepsAsItIs type then
      # sets are merged as they are, and the last one counts
      lib.mkBefore value
    else
      lib.mapAttrs (name: define (part type name)) value;
in
{
  inherit define part;
  # those of the names that a value of the type cannot have
  missing =
    type: names:
    lib.optionals (type != null && declared type != { } && freeform type == null) (
      lib.filter (name: !(declared type ? ${name})) names
    );
}
