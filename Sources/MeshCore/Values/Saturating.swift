/// Arithmetic on decoded numbers. A peer, or a file that a peer has filled, chooses them freely. So a result that
/// doesn't fit stops at the bound of its type, and neither traps nor wraps around. Other arithmetic is used only on
/// numbers that their decoder has bounded.
extension FixedWidthInteger {
  /// Returns the sum, or the bound of the type that it would pass.
  package func saturatingAdding(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  /// Returns the difference, or the bound of the type that it would pass.
  package func saturatingSubtracting(_ other: Self) -> Self {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }

  /// Returns the product, or the bound of the type that it would pass.
  package func saturatingMultiplied(by other: Self) -> Self {
    let (product, overflow) = multipliedReportingOverflow(by: other)
    return overflow ? ((self < 0) == (other < 0) ? .max : .min) : product
  }
}
