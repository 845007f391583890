/// How a write transaction ends. `rollBack` is for a step that finds out that another one has to come first.
enum Ending<Result> {
  case commit(Result)
  case rollBack(Result)

  var result: Result {
    switch self {
    case .commit(let result), .rollBack(let result): result
    }
  }
}
