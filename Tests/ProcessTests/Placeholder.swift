import Testing
@Test func placeholderProcessTests() { }
