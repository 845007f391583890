import Testing

@Suite struct DatabaseFunctionDiagnosticTests {
  @Test(
    "a function that SQL can't call is refused with the reason",
    arguments: [
      (
        "@DatabaseFunction func f() async {}",
        "1:28 error: SQL can't call asynchronous function 'f', because SQLite doesn't wait; remove 'async'"
      ),
      (
        "@DatabaseFunction func f<T>(_ t: T) {}",
        "1:25 error: SQL can't call generic function 'f'; write the types of its parameters"
      ),
      (
        "@DatabaseFunction func f(_ t: Int...) {}",
        "1:26 error: SQL can't pass a variadic argument to 'f'; take a plain value"
      ),
      (
        "@DatabaseFunction func f(_ t: inout Int) {}",
        "1:26 error: SQL can't pass an 'inout' argument to 'f'; take a plain value"
      ),
      (
        "@DatabaseFunction func f(_ t: some P) {}",
        "1:31 error: SQL can't call 'f', because the type of 't' is open; "
          + "write a type, or make 'some Sequence' the only parameter for an aggregate"
      ),
      (
        "@DatabaseFunction var p = 1",
        "1:1 error: '@DatabaseFunction' can only be applied to a function or a computed property; this one is stored"
      ),
      (
        "@DatabaseFunction var p: Int { get async { 1 } }",
        "1:36 error: SQL can't call asynchronous property 'p', because SQLite doesn't wait; remove 'async'"
      ),
      (
        "@DatabaseFunction struct S {}",
        "1:1 error: '@DatabaseFunction' can only be applied to a function or a computed property"
      ),
      (
        "@DatabaseFunction(name) func f() {}",
        "1:19 error: the function's name has to be a string literal without interpolation"
      ),
      (
        "@DatabaseFunction(isDeterministic: flag) func f() {}",
        "1:36 error: 'isDeterministic:' has to be 'true' or 'false' literally"
      ),
      (
        "@DatabaseFunction(as: Int.self) func f() {}",
        "1:23 error: 'as:' needs a function type, as in '@DatabaseFunction(as: ((Date.UnixTimeRepresentation) -> Int).self)'"
      ),
      (
        "@DatabaseFunction(as: ((Int) -> Int).self) func f() -> Int { 1 }",
        "1:23 error: 'as:' describes 1 arguments, but 'f' takes 0"
      ),
      (
        "@DatabaseFunction func f(_ t: @escaping () -> Int) {}",
        "1:1 error: SQL can't take or return a function; name a representation with 'as:'"
      ),
      (
        "@DatabaseFunction func f() -> (Int, Int) { (1, 1) }",
        "1:1 error: SQL can't take or return a tuple; name a representation with 'as:'"
      ),
      (
        "struct S { @DatabaseFunction mutating func f() {} }",
        "1:12 error: SQL can't call a mutating function, because it has no variable to change"
      ),
      (
        "actor A { @DatabaseFunction func f() {} }",
        "1:11 error: SQL can't call a function of an actor, because SQLite doesn't wait; write 'nonisolated'"
      ),
      (
        "@MainActor @DatabaseFunction func f() {}",
        "1:12 error: SQL can't call a function of an actor, because SQLite doesn't wait; write 'nonisolated'"
      ),
      (
        "struct S { @DatabaseFunction static func + (a: S, b: S) -> Int { 1 } }",
        "1:42 error: SQL can't call operator '+'; write a function with a name"
      ),
      (
        "func g() { @DatabaseFunction func f() {} }",
        "1:12 error: '@DatabaseFunction' can't be applied inside of a function, because Swift doesn't find there what "
          + "it makes; move the declaration out of the function"
      ),
      (
        "protocol P { @DatabaseFunction func f() }",
        "1:14 error: '@DatabaseFunction' can't be applied to a requirement, because a protocol has no function to call; "
          + "apply it in the type that conforms"
      ),
    ])
  func refuses(source: String, problem: String) {
    #expect(Expansion(source).problems == [problem])
  }
}
