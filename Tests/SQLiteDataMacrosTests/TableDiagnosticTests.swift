import Testing

@Suite struct TableDiagnosticTests {
  @Test("a class is refused, and the fix-it makes it a struct")
  func classes() {
    let expansion = Expansion("@Table final class Foo { var id = 0 }")
    #expect(
      expansion.problems == [
        "1:14 error: @Table can only be applied to a struct or an enum, because a row is a value; 'Foo' is a class"
      ])
    #expect(expansion.fixed == "@Table struct Foo { var id = 0 }")
    #expect(
      Expansion("@Table\npublic final class Foo { var id = 0 }").fixed == "@Table\npublic struct Foo { var id = 0 }")
    #expect(
      Expansion("@Table\nfinal public class Foo { var id = 0 }").fixed == "@Table\npublic struct Foo { var id = 0 }")
    #expect(Expansion("@Table\nfinal class Foo { var id = 0 }").fixed == "@Table\nstruct Foo { var id = 0 }")
    #expect(Expansion("@Table\nclass Foo { var id = 0 }").fixed == "@Table\nstruct Foo { var id = 0 }")
  }

  @Test("an actor and a protocol are refused")
  func otherKinds() {
    #expect(
      Expansion("@Table actor Foo {}").problems == [
        "1:8 error: @Table can only be applied to a struct or an enum, because a row is a value; 'Foo' is an actor"
      ])
    #expect(
      Expansion("@Selection class Foo {}").problems == [
        "1:12 error: @Selection can only be applied to a struct or an enum, because a row is a value; 'Foo' is a class"
      ])
  }

  @Test("a generic type is refused")
  func generic() {
    #expect(
      Expansion("@Table struct Foo<T> { var id: T }").problems == [
        "1:18 error: @Table can't be applied to generic type 'Foo', because a table has fixed columns; "
          + "declare a type for each table"
      ])
  }

  @Test("a type without columns is refused")
  func empty() {
    #expect(
      Expansion("@Table struct Foo { static var a = 1; var b: Int { 1 } }").problems == [
        "1:15 error: @Table needs at least one stored property in 'Foo': each becomes a column"
      ])
    #expect(
      Expansion("@Table enum Foo {}").problems == [
        "1:13 error: @Table needs at least one case in 'Foo': each becomes a column"
      ])
  }

  @Test("a property whose type can't be told needs an annotation")
  func unknownType() {
    let expansion = Expansion("@Table struct Foo { var a = make() }")
    #expect(
      expansion.problems == ["1:25 error: @Table can't tell the type of 'a' from its initial value; write the type"])
    #expect(expansion.fixed == "@Table struct Foo { var a: <#Type#> = make() }")
    // `Optional(1)` leaves out an argument, and a row can't be a column of itself.
    for value in ["Optional(1)", "Array(1...3)", "Set([1])", "Foo.start", "Self.start"] {
      #expect(
        Expansion("@Table struct Foo { var a = \(value) }").problems == [
          "1:25 error: @Table can't tell the type of 'a' from its initial value; write the type"
        ])
    }
  }

  @Test("a name used by two columns is refused")
  func duplicate() {
    #expect(
      Expansion("@Table struct Foo { var a = 1; @Column(\"A\") var b = 2 }").problems == [
        "1:49 error: column name 'A' is used twice; SQLite doesn't tell names apart by case, "
          + "so give one of them another name with '@Column(\"…\")'"
      ])
  }

  @Test("a second primary key is refused")
  func keys() {
    #expect(
      Expansion(
        "@Table struct Foo { @Column(primaryKey: true) var a = 1; @Column(primaryKey: true) var b = 2 }"
      ).problems == [
        "1:88 error: 'Foo' already has primary key 'a'; for a key of several columns, "
          + "put them into a '@Selection' struct and declare one property of that type"
      ])
  }

  @Test("a tuple pattern is refused")
  func pattern() {
    #expect(
      Expansion("@Table struct Foo { var (a, b) = (1, 2) }").problems == [
        "1:25 error: @Table needs one name for each column; declare the properties of this tuple one by one"
      ])
  }

  @Test("a lazy property is refused")
  func lazy() {
    #expect(
      Expansion("@Table struct Foo { lazy var a = 1 }").problems == [
        "1:21 error: lazy property 'a' can't be a column, because it has no value until it is read; "
          + "remove 'lazy' or mark it '@Ephemeral'"
      ])
  }

  @Test("a stored property inside of #if is refused")
  func condition() {
    #expect(
      Expansion("@Table struct Foo {\n  let id: Int\n  #if DEBUG\n    var a = 1\n  #endif\n}").problems == [
        "3:3 error: @Table can't see which branch of '#if' is compiled, so stored properties can't be inside it; "
          + "move the condition around the whole type"
      ])
    #expect(
      Expansion("@Table struct Foo {\n  let id: Int\n  #if DEBUG\n    var a: Int { 1 }\n  #endif\n}").problems == [])
  }

  @Test("an ephemeral property needs an initial value")
  func ephemeral() {
    let expansion = Expansion("@Table struct Foo { let id: Int; @Ephemeral var a: Int }")
    #expect(
      expansion.problems == [
        "1:49 error: ephemeral property 'a' needs an initial value, because no column gives it one"
      ])
    #expect(expansion.fixed == "@Table struct Foo { let id: Int; @Ephemeral var a: Int = <#value#> }")
    #expect(Expansion("@Table struct Foo { let id: Int; @Ephemeral var a: Int? }").problems == [])
    #expect(Expansion("@Table struct Foo { let id: Int; @Ephemeral var a: Int { 1 } }").problems == [])
    #expect(
      Expansion("@Table struct Foo { let id: Int; @Ephemeral @Column(\"b\") var a = 1 }").problems == [
        "1:45 error: 'a' can't be '@Ephemeral' and '@Column' at once; remove one of them"
      ])
  }

  @Test("a generated column has to be a constant, and the fix-it makes it one")
  func generated() {
    let expansion = Expansion("@Table struct Foo { let id: Int; @Column(generated: .virtual) var a: Int }")
    #expect(
      expansion.problems == [
        "1:63 error: generated column 'a' has to be a 'let', because only SQLite writes it"
      ])
    #expect(expansion.fixed == "@Table struct Foo { let id: Int; @Column(generated: .virtual) let a: Int }")
    #expect(
      Expansion("@Table struct Foo { let id: Int; @Column(generated: kind) let a: Int }").problems == [
        "1:53 error: 'generated:' has to be '.stored' or '.virtual', as the column is declared in SQL"
      ])
  }

  @Test("names and flags have to be literals")
  func literals() {
    #expect(
      Expansion(#"@Table(name) struct Foo { @Column("a\(b)") var a = 1; @Column("") var b = 1 }"#).problems == [
        "1:35 error: the column's name has to be a string literal without interpolation, because it becomes part of SQL",
        "1:63 error: the column's name is empty; write a name, or leave the argument out",
        "1:8 error: the table's name has to be a string literal without interpolation, because it becomes part of SQL",
      ])
    #expect(
      Expansion("@Table struct Foo { @Column(primaryKey: flag) var a = 1 }").problems == [
        "1:41 error: 'primaryKey:' has to be 'true' or 'false' literally, because it decides what is generated"
      ])
    #expect(
      Expansion("@Table struct Foo { @Column(as: type) var a = 1 }").problems == [
        "1:33 error: 'as:' needs the name of a type, as in '@Column(as: Date.UnixTimeRepresentation.self)'"
      ])
  }

  @Test("a case of an enum needs exactly one value")
  func cases() {
    #expect(
      Expansion("@Table enum Foo { case a(Int); case b; case c(Int, Int) }").problems == [
        "1:37 error: case 'b' of 'Foo' needs exactly one associated value: "
          + "a row shows its case by the column that isn't NULL; give it a value, as in 'b(Bool)'",
        "1:45 error: case 'c' of 'Foo' needs exactly one associated value: put the values into a '@Selection' struct",
      ])
  }

  @Test("a case inside of #if is refused")
  func conditionalCase() {
    #expect(
      Expansion("@Table enum Foo {\n  case a(Int)\n  #if DEBUG\n    case b(Int)\n  #endif\n}").problems == [
        "3:3 error: @Table can't see which branch of '#if' is compiled, so cases can't be inside it; "
          + "move the condition around the whole type"
      ])
  }

  @Test(
    "an attribute that decides what is made is refused inside of #if", arguments: ["Column", "Columns", "Ephemeral"])
  func conditionalAttribute(name: String) {
    #expect(
      Expansion("@Table struct Foo {\n  #if DEBUG\n  @\(name)\n  #endif\n  var a = 1\n}").problems == [
        "3:3 error: @Table can't see which branch of '#if' is compiled, so '@\(name)' can't be inside it; "
          + "move the condition around the whole type"
      ])
    #expect(
      Expansion("@Table struct Foo {\n  #if DEBUG\n  @available(*, deprecated)\n  #endif\n  var a = 1\n}").problems
        == [])
  }

  @Test("a second @Column is refused")
  func twoColumns() {
    #expect(
      Expansion("@Table struct Foo { @Column(\"b\") @Column(primaryKey: true) var a = 1 }").problems == [
        "1:34 error: 'a' already has '@Column'; write all arguments into one attribute"
      ])
  }

  @Test("a type inside of a function is refused")
  func local() {
    #expect(
      Expansion("func f() { @Table struct Foo { let id: Int } }").problems == [
        "1:26 error: @Table can't be applied to 'Foo' inside of a function, because Swift can't extend a type there; "
          + "move the type out of the function"
      ])
  }

  @Test("a type inside of a generic type is refused")
  func genericPlace() {
    #expect(
      Expansion("struct Box<T> { enum Inner { @Selection struct Foo { let id: Int } } }").problems == [
        "1:48 error: @Selection can't be applied to 'Foo' inside of generic type 'Box', because a table has fixed "
          + "columns; move the type out of 'Box'"
      ])
  }

  @Test("a nested type can't be private, and the fix-it makes it fileprivate")
  func privateType() {
    let expansion = Expansion("enum Outer {\n  @Table\n  private struct Foo { let id: Int }\n}")
    #expect(
      expansion.problems == [
        "3:3 error: 'Foo' can't be private, because the conformance that @Table adds stands outside of 'Outer'; "
          + "make it 'fileprivate'"
      ])
    #expect(expansion.replacements == ["private → fileprivate"])
    #expect(
      Expansion("enum A { private enum B { @Table struct Foo { let id: Int } } }").problems == [
        "1:41 error: 'Foo' can't be inside of private type 'B', because the conformance that @Table adds stands outside "
          + "of 'A'; make 'B' 'fileprivate'"
      ])
    #expect(Expansion("private enum A { @Table struct Foo { let id: Int } }").problems == [])
    #expect(Expansion("@Table private struct Foo { let id: Int; private(set) var a = 1 }").problems == [])
  }

  @Test("names of what the macro makes are refused")
  func reservedNames() {
    #expect(
      Expansion("@Table struct Draft { let id: Int }").problems == [
        "1:15 error: @Table makes a nested type 'Draft', so the type itself needs another name; "
          + "write '@Table(\"drafts\")' to keep the table's name"
      ])
    #expect(
      Expansion("@Selection struct Selection { let a: Int }").problems == [
        "1:19 error: @Selection makes a nested type 'Selection', so the type itself needs another name"
      ])
    #expect(Expansion("@Table struct Draft { let a: Int }").problems == [])
    for name in ["`self`", "`Type`", "`Protocol`", "primaryKey"] {
      let text = name.unquoted
      #expect(
        Expansion("@Table struct Foo { let id: Int; var \(name): Int }").problems == [
          "1:38 error: '\(text)' can't be the name of a column's property, because it already means something else here; "
            + "rename the property and write '@Column(\"\(text)\")'"
        ])
    }
    #expect(Expansion("@Selection struct Foo { let id: Int; var primaryKey: Int }").problems == [])
  }

  @Test("a type that no column can hold is refused, unless the column has a representation")
  func storage() {
    for (type, kind) in [
      ("(Int, Int)", "a tuple"), ("() -> Void", "a function"), ("(@Sendable () -> Void)?", "a function"),
      ("any Foo", "a value whose type is open"),
    ] {
      #expect(
        Expansion("@Table struct Foo { let id: Int; var a: \(type) }").problems == [
          "1:38 error: 'a' can't be a column, because it holds \(kind); name a representation with '@Column(as:)', "
            + "or mark it '@Ephemeral'"
        ])
      #expect(Expansion("@Table struct Foo { let id: Int; @Column(as: Bar.self) var a: \(type) }").problems == [])
    }
    #expect(
      Expansion("@Table enum Foo { case a(() -> Void) }").problems == [
        "1:24 error: 'a' can't be a column, because it holds a function; name a representation with '@Column(as:)'"
      ])
    #expect(Expansion("@Table struct Foo { let id: Int; var a: (Int) }").problems == [])
  }

  @Test("an array is stored as JSON, and the message shows how")
  func arrays() {
    #expect(
      Expansion("@Table struct Foo { let id: Int; var a: [String]? }").problems == [
        "1:38 error: 'a' can't be a column, because it holds an array; to store it as JSON, write "
          + "'@Column(as: [String]?.JSONRepresentation.self)'"
      ])
    #expect(
      Expansion("@Table struct Foo { let id: Int; var a = [1, 2] }").problems == [
        "1:38 error: 'a' can't be a column, because it holds an array; to store it as JSON, write "
          + "'@Column(as: [Int].JSONRepresentation.self)'"
      ])
    #expect(Expansion("@Table struct Foo { let id: Int; var a: [UInt8]; var b: [Byte] }").problems == [])
    #expect(
      Expansion("@Table struct Foo { @Column(as: [String].JSONRepresentation.self) var a = [\"b\"] }").problems == [])
  }

  @Test("a reference to an object is refused", arguments: ["weak", "unowned"])
  func references(modifier: String) {
    #expect(
      Expansion("@Table struct Foo { let id: Int; \(modifier) var a: Bar? }").problems == [
        "1:34 error: 'a' can't be a column, because it refers to an object; remove '\(modifier)' or mark it '@Ephemeral'"
      ])
  }

  @Test("@Column tells where it belongs")
  func columnPlace() {
    #expect(
      Expansion("struct Foo { @Column(\"b\") var a = 1 }").problems == [
        "1:14 warning: '@Column' has no effect outside of a '@Table' or '@Selection' type; "
          + "attach '@Table' to 'Foo', or remove this attribute"
      ])
    #expect(
      Expansion("@Column(\"b\") var a = 1").problems == [
        "1:1 warning: '@Column' has no effect outside of a '@Table' or '@Selection' type; remove this attribute"
      ])
    #expect(
      Expansion("@Table struct Foo { let id: Int; @Column(\"b\") var a: Int { 1 } }").problems == [
        "1:34 error: '@Column' can only be applied to a stored property or an enum case; 'a' is computed"
      ])
    #expect(
      Expansion("@Table struct Foo { let id: Int; @Columns static var a = 1 }").problems == [
        "1:34 error: '@Columns' can only be applied to a stored property or an enum case; 'a' is static"
      ])
    #expect(
      Expansion("@Table struct Foo { let id: Int; @Column func a() {} }").problems == [
        "1:34 error: '@Column' can only be applied to a stored property or an enum case"
      ])
    #expect(
      Expansion("@Table struct Foo { let id: Int; @Ephemeral func a() {} }").problems == [
        "1:34 error: '@Ephemeral' can only be applied to a property"
      ])
  }
}
