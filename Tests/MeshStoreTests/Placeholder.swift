import Testing
@Test func placeholderMeshStoreTests() { }
