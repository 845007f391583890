enum MeshCryptoPlaceholder {}
