/// Makes a Swift function callable from SQL.
///
/// ```swift
/// @DatabaseFunction
/// nonisolated func exclaim(_ text: String) -> String { text + "!" }
///
/// db.add(function: $exclaim)
/// Reminder.select { $exclaim($0.title) }
/// // SELECT "exclaim"("reminders"."title") FROM "reminders"
/// ```
///
/// The macro declares `$exclaim`, the function as a value. A function whose only parameter is a sequence is an
/// aggregate: SQLite calls it once for each group. A call of an aggregate takes `order:` and `filter:`, and `distinct:`
/// before a single argument. A computed property is a function without arguments, and `$name` is an expression.
///
/// - Parameters:
///   - name: The name by which SQL calls the function. By default, the function's own name.
///   - isDeterministic: Whether equal arguments always give the same result.
@attached(peer, names: prefixed(`$`))
public macro DatabaseFunction(_ name: String = "", isDeterministic: Bool = false) =
  #externalMacro(module: "SQLiteDataMacros", type: "DatabaseFunctionMacro")

/// Makes a Swift function callable from SQL, with arguments or a result in other representations.
///
/// ```swift
/// @DatabaseFunction(as: (([String].JSONRepresentation) -> Int).self)
/// nonisolated func count(_ tags: [String]) -> Int { tags.count }
/// ```
///
/// - Parameters:
///   - name: The name by which SQL calls the function. By default, the function's own name.
///   - representableFunctionType: The function's type, written with the representations.
///   - isDeterministic: Whether equal arguments always give the same result.
@attached(peer, names: prefixed(`$`))
public macro DatabaseFunction<each Argument, Output>(
  _ name: String = "", as representableFunctionType: ((repeat each Argument) -> Output).Type,
  isDeterministic: Bool = false
) = #externalMacro(module: "SQLiteDataMacros", type: "DatabaseFunctionMacro")
