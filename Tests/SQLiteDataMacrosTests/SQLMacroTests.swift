import Testing

@Suite struct SQLMacroTests {
  @Test("a fragment becomes an expression with its arguments")
  func expands() {
    #expect(
      Expansion(#"#sql("SELECT \(Reminder.columns) FROM \(Reminder.self)", as: Reminder.self)"#).text
        == #"""
        SQLiteDataQueries.SQLQueryExpression("SELECT \(Reminder.columns) FROM \(Reminder.self)", as: Reminder.self)
        """#)
    #expect(
      Expansion("#bind(date, as: Date.self)").text == "SQLiteDataQueries.BindQueryExpression(date, as: Date.self)")
  }

  @Test(
    "valid SQL passes",
    arguments: [
      #"#sql("SELECT * FROM t WHERE a = 'it''s' AND \"b (\" = ')'")"#,
      #"#sql("SELECT [a)] , `b(` -- it's (\n /* '( */ FROM t")"#,
      #"#sql("a = \(x) AND b = '\(raw: y)' /* \(raw: z) */")"#,
      #"#sql("json_extract(a, '$.b[0]') ->> '?' || a$b")"#,
      "#sql(\"\"\"\nCREATE TABLE \"t\" (\n  -- all (\n  \"id\" TEXT\n)\n\"\"\")",
      ##"#sql(#"SELECT "a" FROM t WHERE b = \#(x)"#)"##,
      "#sql(fragment)",
    ])
  func accepts(source: String) {
    #expect(Expansion(source).problems == [])
  }

  @Test("an open quote is refused where it opens")
  func openQuote() {
    #expect(
      Expansion(#"#sql("SELECT 'a")"#).problems == [
        "1:14 error: ''' has no closing ''' in this SQL; close it, or write a quote inside a string twice"
      ])
    #expect(
      Expansion(#"#sql("é \"a")"#).problems == [
        "1:10 error: '\"' has no closing '\"' in this SQL; close it, or write a quote inside a string twice"
      ])
    #expect(
      Expansion(#"#sql("a[1")"#).problems == [
        "1:8 error: '[' has no closing ']' in this SQL; close it, or write a quote inside a string twice"
      ])
  }

  @Test("an open comment is refused")
  func openComment() {
    #expect(
      Expansion(#"#sql("a /* b")"#).problems == [
        "1:9 error: '/*' has no closing '*/' in this SQL; everything after it would be a comment"
      ])
  }

  @Test("unbalanced parentheses are warned about, each at its place")
  func parentheses() {
    #expect(
      Expansion(#"#sql("a) + ((b)")"#).problems == [
        "1:8 warning: ')' has no opening '(' in this SQL; to close one on purpose, write '\\(raw: \")\")'",
        "1:12 warning: '(' has no closing ')' in this SQL; to open one on purpose, write '\\(raw: \"(\")'",
      ])
  }

  @Test("a value bound between quotes is refused, and the fix-it removes the quotes")
  func bindInString() {
    let expansion = Expansion(#"#sql("a = '\(x)' AND b")"#)
    #expect(
      expansion.problems == [
        "1:12 error: a value can't be bound between quotes in SQL; "
          + "remove the quotes, or write '\\(raw:)' for text that belongs to the string"
      ])
    #expect(expansion.fixed == #"#sql("a = \(x) AND b")"#)
    #expect(Expansion(#"#sql("a LIKE '%\(x)'")"#).fixed == #"#sql("a LIKE '%\(x)'")"#)
    #expect(
      Expansion(#"#sql("\"\(x)\"")"#).problems == [
        "1:9 error: a value can't be bound between quotes in SQL; "
          + "write '\\(quote:)' without the quotes for a name, or '\\(raw:)' for text that belongs to it"
      ])
  }

  @Test("a value bound in a comment is refused")
  func bindInComment() {
    #expect(
      Expansion(#"#sql("a -- \(x)")"#).problems == [
        "1:12 error: a value can't be bound inside a comment in SQL; move it out, or write '\\(raw:)' for text of the comment"
      ])
  }

  @Test("a parameter without a value is refused", arguments: ["?", ":", "@", "$"])
  func parameter(sign: String) {
    let name = sign == "?" ? "" : "name"
    #expect(
      Expansion("#sql(\"a = \(sign)\(name)\")").problems == [
        "1:11 error: parameter '\(sign)' has no value in this SQL; interpolate the value, and it is bound: '\\(value)'"
      ])
  }

  @Test("an expression stands for a static property")
  func expression() {
    let expansion = Expansion(
      """
      extension Engine {
        @DatabaseExpression("(SELECT 1)")
        public static var isBusy: Bool { false }
      }
      """)
    #expect(expansion.problems == [])
    #expect(
      expansion.text.contains(
        #"public static var $isBusy: SQLQueryExpression<Bool> { SQLQueryExpression(QueryFragment("(SELECT 1)")) }"#)
    )
  }
}
