import SwiftSyntax
import SwiftSyntaxBuilder

/// The module that expansions name in full, so that they compile whatever the file imports and declares.
let core = "SQLiteDataQueries"

extension Record {
  /// The record that `Draft` stores: the key and lazy columns may be missing, and generated columns have no value yet.
  var draft: Record? {
    guard let key else { return nil }
    var columns = writable
    for index in columns.indices {
      columns[index].isConstant = false
      let column = columns[index]
      let mayBeMissing = column.property == key.property || (column.isLazy && column.initial == nil)
      guard mayBeMissing, !column.type.isOptional else { continue }
      columns[index].type = "\(column.type)?"
      columns[index].representation = column.representation.map { "\($0)?" }
      columns[index].initial = "nil"
    }
    return Record(name: "Draft", isEnum: false, access: access, columns: columns, key: nil)
  }

  /// The nested type `TableColumns`, which closures of queries receive.
  var tableColumns: String {
    let list = columns.map { "QueryValue.columns.\($0.property)" }.joined(separator: ", ")
    let keyed = key.map { "\($0.value)" }
    return """
      \(access)nonisolated struct TableColumns: \(core).\(keyed == nil ? "" : "PrimaryKeyed")TableDefinition {
        \(access)typealias QueryValue = \(name)
      \(keyed.map { "  \(access)typealias PrimaryKey = \($0)\n" } ?? "")\
      \(isNested ? "\(values)\n" : "")\
      \(columns.map { "  \(access)let \($0.property) = \(constructor(of: $0))\n" }.joined())\
      \(key.map { "  \(access)let primaryKey = \(constructor(of: $0))\n" } ?? "")\
        \(access)static let allColumns: [any \(core).TableColumnExpression] = \(core)._flattened(\(list))
        \(access)static let writableColumns: [any \(core).WritableTableColumnExpression] = \(core)._writable(allColumns)
        \(access)static let _selection = _columnList(allColumns)
      \(keyed == nil ? "" : "  \(access)static let _findSQL = _makeFindSQL()\n")\
      }
      """
  }

  /// Names for the types and initial values of the columns.
  ///
  /// The extension with the conformance stands outside of the types that enclose this one, and doesn't see what is
  /// declared in them.
  private var values: String {
    let names = columns.map { column in
      let initial = column.decodedDefault.map {
        "\n    \(access)static var default_\(column.property.unquoted): \(column.type) { \($0) }"
      }
      return "    \(access)typealias _\(column.property.unquoted) = \(column.value)\(initial ?? "")"
    }
    return "  \(access)nonisolated enum _Values {\n\(names.joined(separator: "\n"))\n  }"
  }

  private func valueName(of column: Column) -> String {
    isNested ? "TableColumns._Values._\(column.property.unquoted)" : "\(column.value)"
  }

  private func constructor(of column: Column) -> String {
    let path = isEnum ? "\\QueryValue._cases.\(column.property)" : "\\QueryValue.\(column.property)"
    let value = isEnum ? "\(column.value)?" : "\(column.value)"
    let arguments = "(\(column.name.literal), keyPath: \(path))"
    return column.generation == nil
      ? "\(core)._TableColumn<QueryValue, \(value)>.for\(arguments)"
      : "\(core).GeneratedColumn<QueryValue, \(value)>\(arguments)"
  }

  /// The nested type `Selection`, also called `Columns`: one expression for each column.
  var selection: String {
    """
    \(access)nonisolated struct Selection: \(core).TableExpression {
      \(access)typealias QueryValue = \(name)
      \(access)let allColumns: [any \(core).QueryExpression]
    \(isEnum ? caseSelections : memberwiseSelection)
    }
    """
  }

  private var memberwiseSelection: String {
    let parameters = columns.map { column in
      let value = column.initial.map { " = \(column.value)(queryOutput: \($0))" } ?? ""
      return "    \(column.property): some \(core).QueryExpression<\(column.value)>\(value)"
    }
    return """
        \(access)init(
      \(parameters.joined(separator: ",\n"))
        ) {
          self.allColumns = \(core)._flattened(expressions: \(columns.map(\.property).joined(separator: ", ")))
        }
      """
  }

  private var caseSelections: String {
    let functions = columns.map { column in
      let parts = columns.map { other in
        other.property == column.property ? "value._allColumns" : "\(core)._nulls(\(other.value)?.self)"
      }
      return """
          \(access)static func \(column.property)(_ value: some \(core).QueryExpression<\(column.value)>) -> Self {
            Self(allColumns: \(parts.joined(separator: " + ")))
          }
        """
    }
    return functions.joined(separator: "\n")
  }

  /// The members that the conformance to `Table` needs beside the nested types.
  ///
  /// The annotations matter: in a module that is isolated to the main actor by default, inferring the type of `columns`
  /// from its value would be circular.
  var requirements: String {
    """
      \(access)static let columns: TableColumns = TableColumns()
      \(access)static let _columnWidth: Swift.Int = TableColumns.allColumns.count
      \(access)init(decoder: inout some \(core).QueryDecoder) throws {
    \(isEnum ? caseDecoding : columns.map { "    \(decoding(of: $0))" }.joined(separator: "\n"))
      }
      \(access)func _encode(into encoder: inout \(core).RowEncoder) {
    \(columns.map { "    \(encoding(of: $0))" }.joined(separator: "\n"))
      }
    """
  }

  /// The statement that sets the property to the next value of a row.
  private func decoding(of column: Column) -> String {
    let (property, value) = (column.property, valueName(of: column))
    if column.isConstant, column.initial != nil { return "_ = try decoder.decode(\(value).self)" }
    guard let initial = column.decodedDefault else { return "self.\(property) = try decoder.required(\(value).self)" }
    let defaultValue = isNested ? "TableColumns._Values.default_\(property.unquoted)" : "\(initial)"
    return "self.\(property) = try decoder.decode(\(value).self, default: \(defaultValue))"
  }

  private func encoding(of column: Column) -> String {
    if isEnum { return "encoder.encode(\(valueName(of: column))?.self, self._cases.\(column.property))" }
    return
      "encoder.encode\(column.generation == nil ? "" : "Generated")(\(valueName(of: column)).self, self.\(column.property))"
  }

  private var caseDecoding: String {
    // Numbered, because a case may have the name of a parameter or of another local.
    let values = columns.enumerated().map { index, column in
      "    let value\(index) = try decoder.decode(\(valueName(of: column)).self)"
    }
    let choices = columns.enumerated().map { index, column in
      let label = column.label.map { $0 == "_" ? "" : "\($0): " } ?? ""
      return "if let value\(index) {\n      self = .\(column.property)(\(label)value\(index))\n    }"
    }
    return """
      \(values.joined(separator: "\n"))
          \(choices.joined(separator: " else ")) else {
            throw \(core).QueryDecodingError.missingRequiredColumn
          }
      """
  }

  /// The values of an enum's cases as properties, because a key path can't name a case.
  var cases: [String] {
    guard isEnum else { return [] }
    let properties = columns.map { column in
      """
        \(access)var \(column.property): \(column.type)? {
          if case .\(column.property)(let value) = _base { value } else { nil }
        }
      """
    }
    return [
      "\(access)nonisolated struct _Cases {\n  let _base: \(name)\n\(properties.joined(separator: "\n"))\n}",
      "\(access)nonisolated var _cases: _Cases { _Cases(_base: self) }",
    ]
  }

  /// The nested type `Draft`: a row whose key the database may choose.
  var draftType: String? {
    guard let draft else { return nil }
    let parameters = draft.columns.map { "    \($0.property): \($0.type)\($0.initial.map { " = \($0)" } ?? "")" }
    return """
      \(access)nonisolated struct Draft: \(core).TableDraft {
        \(access)typealias PrimaryTable = \(name)
      \(draft.columns.map { "  \(access)var \($0.property): \($0.type)\n" }.joined())\
      \(draft.tableColumns.indented)
        \(access)init(
      \(parameters.joined(separator: ",\n"))
        ) {
      \(draft.columns.map { "    self.\($0.property) = \($0.property)\n" }.joined())\
        }
        \(access)init(_ other: \(name)) {
      \(draft.columns.map { "    self.\($0.property) = other.\($0.property)\n" }.joined())\
        }
      \(draft.requirements)
      }
      """
  }
}

extension Column {
  /// The value that replaces NULL when a row is read.
  fileprivate var decodedDefault: ExprSyntax? {
    type.isOptional || isConstant ? nil : initial
  }
}

extension String {
  fileprivate var indented: String {
    split(separator: "\n", omittingEmptySubsequences: false).map { "  " + $0 }.joined(separator: "\n")
  }
}
