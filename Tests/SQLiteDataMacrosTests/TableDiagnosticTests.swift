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
