import Dependencies
import DependenciesTestSupport
import Foundation
import Testing

private enum GreetingKey: DependencyKey {
  static let liveValue = "live"
  static let previewValue = "preview"
  static let testValue = "test"
}

private enum NumberKey: TestDependencyKey {
  static let testValue = 42
}

private enum LiveOnlyKey: DependencyKey {
  static let liveValue = 7
}

extension DependencyValues {
  fileprivate var greeting: String {
    get { self[GreetingKey.self] }
    set { self[GreetingKey.self] = newValue }
  }
  fileprivate var number: Int {
    get { self[NumberKey.self] }
    set { self[NumberKey.self] = newValue }
  }
  fileprivate var liveOnly: Int {
    get { self[LiveOnlyKey.self] }
    set { self[LiveOnlyKey.self] = newValue }
  }
}

private struct Model {
  @Dependency(\.greeting) var greeting
  @Dependency(\.number) var number
}

@Suite("Dependencies")
struct DependenciesTests {
  @Test("the context decides which default a key supplies")
  func contextDecides() {
    @Dependency(\.context) var context
    #expect(context == .test)
    #expect(Model().greeting == "test")
    let live = withDependencies {
      $0.context = .live
    } operation: {
      Model().greeting
    }
    #expect(live == "live")
    let preview = withDependencies {
      $0.context = .preview
    } operation: {
      Model().greeting
    }
    #expect(preview == "preview")
  }

  @Test("a changed dependency is seen within the operation and nowhere else")
  func changedWithinOperation() async {
    let model = Model()
    withDependencies {
      $0.greeting = "changed"
    } operation: {
      #expect(model.greeting == "changed")
    }
    #expect(model.greeting == "test")
    await withDependencies {
      $0.greeting = "changed"
    } operation: {
      await Task.yield()
      #expect(model.greeting == "changed")
    }
  }

  @Test("an object keeps the dependencies of the operation that made it")
  func objectKeepsDependencies() {
    let model = withDependencies {
      $0.greeting = "kept"
    } operation: {
      Model()
    }
    #expect(model.greeting == "kept")
    withDependencies {
      $0.number = 1
    } operation: {
      #expect(model.greeting == "kept")
      #expect(model.number == 1)
    }
  }

  @Test("preparing sets a dependency for the test", .dependencies)
  func preparingSets() {
    prepareDependencies { $0.greeting = "prepared" }
    #expect(Model().greeting == "prepared")
  }

  @Test("preparing a dependency twice reports an issue and keeps the first value", .dependencies)
  func preparingTwice() {
    prepareDependencies { $0.greeting = "first" }
    withKnownIssue {
      prepareDependencies { $0.greeting = "second" }
    } matching: {
      $0.description.contains("already used or prepared")
    }
    #expect(Model().greeting == "first")
  }

  @Test("a closure that prepares dependencies can read one that it has just set", .dependencies)
  func preparingReads() {
    prepareDependencies {
      $0.number = 5
      $0.greeting = "number \($0.number)"
    }
    #expect(Model().greeting == "number 5")
  }

  @Test("a closure that prepares dependencies can set a part of one", .dependencies)
  func preparingParts() {
    prepareDependencies { $0.date.now = Date(timeIntervalSince1970: 5) }
    @Dependency(\.date.now) var now
    #expect(now == Date(timeIntervalSince1970: 5))
  }

  @Test("two tests without a trait prepare dependencies separately", arguments: [1])
  func preparedSeparately1(_: Int) {
    prepareDependencies { $0.number = 1 }
    #expect(Model().number == 1)
  }

  @Test("two tests without a trait prepare dependencies separately (2)")
  func preparedSeparately2() {
    prepareDependencies { $0.number = 2 }
    #expect(Model().number == 2)
  }

  @Test("a live-only dependency reports an issue in a test")
  func liveOnlyReports() {
    withKnownIssue {
      @Dependency(\.liveOnly) var value
      #expect(value == 7)
    } matching: {
      $0.description.contains("has no test value")
    }
    let value = withDependencies {
      $0.liveOnly = 8
    } operation: {
      @Dependency(\.liveOnly) var value
      return value
    }
    #expect(value == 8)
  }

  @Test("a dependency without a live value reports an issue in a running app")
  func withoutLiveReports() {
    withDependencies {
      $0.context = .live
    } operation: {
      withKnownIssue {
        #expect(Model().number == 42)
      } matching: {
        $0.description.contains("has no live value")
      }
    }
  }

  @Test("an unset date, UUID or clock reports an issue when it is used")
  func unsetGeneratorsReport() async {
    @Dependency(\.date) var date
    @Dependency(\.uuid) var uuid
    @Dependency(\.continuousClock) var clock
    withKnownIssue { _ = date() }
    withKnownIssue { _ = uuid() }
    await withKnownIssue { try await clock.sleep(for: .zero) }
  }

  @Test(
    "the trait sets several dependencies",
    .dependencies {
      $0.date.now = Date(timeIntervalSince1970: 10)
      $0.uuid = .incrementing
      $0.greeting = "trait"
    })
  func traitSetsSeveral() {
    @Dependency(\.date.now) var now
    @Dependency(\.uuid) var uuid
    #expect(now == Date(timeIntervalSince1970: 10))
    #expect(uuid() == UUID(0))
    #expect(uuid() == UUID(1))
    #expect(UUID(258).uuidString == "00000000-0000-0000-0000-000000000102")
    #expect(Model().greeting == "trait")
  }

  @Test("constant generators repeat their value")
  func constants() {
    let id = UUID()
    let now = Date()
    #expect(UUIDGenerator.constant(id)() == id)
    #expect(DateGenerator.constant(now)() == now)
  }

  @Suite("with a trait", .dependency(\.greeting, "suite"))
  struct Traits {
    @Test("a suite's dependency reaches its tests")
    func suite() {
      #expect(Model().greeting == "suite")
    }

    @Test("a test's dependency takes precedence", .dependency(\.greeting, "test's own"))
    func test() {
      #expect(Model().greeting == "test's own")
    }
  }

  @Test("an operation from a model has the dependencies that the model was made with")
  func fromModel() async {
    class Base { @Dependency(\.date.now) var now }
    final class Model: Base {}
    let model = withDependencies {
      $0.date.now = Date(timeIntervalSince1970: 7)
    } operation: {
      Model()
    }
    let child = withDependencies(from: model) { Model() }
    #expect(child.now == Date(timeIntervalSince1970: 7))
    let changed = await withDependencies(from: model) {
      $0.date.now = Date(timeIntervalSince1970: 8)
    } operation: {
      await Task.yield()
      return Model()
    }
    #expect(changed.now == Date(timeIntervalSince1970: 8))
  }

  @Test("an object without dependencies can't hand them on")
  func fromModelWithout() {
    final class Model {}
    withKnownIssue { withDependencies(from: Model()) {} }
  }
}
