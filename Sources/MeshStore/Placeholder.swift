enum MeshStorePlaceholder {}
