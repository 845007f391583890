enum MeshTestingPlaceholder {}
