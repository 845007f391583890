/// Rows in named sections.
///
/// ```swift
/// for section in $reminders.sections {
///   print(section.name ?? "No list")
///   for reminder in section.rows { print("  \(reminder.title)") }
/// }
/// ```
public struct FetchSections<Name: Hashable & Sendable, Element>: RandomAccessCollection {
  /// A section: its name and its rows.
  public struct Section: RandomAccessCollection {
    public let name: Name
    public let rows: ArraySlice<Element>

    public var startIndex: Int { rows.startIndex }
    public var endIndex: Int { rows.endIndex }
    public subscript(position: Int) -> Element { rows[position] }
  }

  private let rows: [Element]
  private let sections: [(name: Name, range: Range<Int>)]

  init(rows: [Element], sections: [(name: Name, range: Range<Int>)]) {
    self.rows = rows
    self.sections = sections
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { sections.count }

  public subscript(position: Int) -> Section {
    Section(name: sections[position].name, rows: rows[sections[position].range])
  }

  /// The section with a name, or nil if there is none.
  public subscript(named name: Name) -> Section? {
    index(ofSectionNamed: name).map { self[$0] }
  }

  /// The names of the sections in their order.
  public var sectionNames: [Name] { sections.map(\.name) }

  /// Returns whether there is a section with a name.
  public func contains(sectionNamed name: Name) -> Bool { index(ofSectionNamed: name) != nil }

  /// Returns the index of the section with a name, or nil if there is none.
  public func index(ofSectionNamed name: Name) -> Int? { sections.firstIndex { $0.name == name } }
}

extension FetchSections.Section: Sendable where Element: Sendable {}
extension FetchSections: Sendable where Element: Sendable {}

extension FetchSections: Equatable where Element: Equatable {
  public static func == (lhs: Self, rhs: Self) -> Bool {
    lhs.rows == rhs.rows && lhs.sections.elementsEqual(rhs.sections) { $0 == $1 }
  }
}

extension FetchSections where Name == String? {
  init(_ fetched: FetchedRows<Element>) where Element: Sendable {
    let whole = fetched.rows.isEmpty ? [] : [FetchedRows<Element>.Section(name: nil, range: fetched.rows.indices)]
    self.init(rows: fetched.rows, sections: (fetched.sections ?? whole).map { ($0.name, $0.range) })
  }
}
