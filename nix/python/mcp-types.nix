{
  lib,
  buildPythonPackage,
  mcp,
  hatchling,
  uv-dynamic-versioning,
  pydantic,
  typing-extensions,
}:

buildPythonPackage {
  pname = "mcp-types";
  inherit (mcp) version src;
  pyproject = true;

  sourceRoot = "${mcp.src.name}/src/mcp-types";

  build-system = [
    hatchling
    uv-dynamic-versioning
  ];

  dependencies = [
    pydantic
    typing-extensions
  ];

  pythonImportsCheck = [ "mcp_types" ];

  meta = {
    description = "Wire types of the Model Context Protocol";
    homepage = "https://github.com/modelcontextprotocol/python-sdk";
    license = lib.licenses.mit;
  };
}
