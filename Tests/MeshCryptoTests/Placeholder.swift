import Testing
@Test func placeholderMeshCryptoTests() { }
