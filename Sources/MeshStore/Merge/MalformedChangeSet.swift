/// The failure to merge a change set that breaks a rule of the format. No device merges it.
struct MalformedChangeSet: Error {
  let reason: String
}
