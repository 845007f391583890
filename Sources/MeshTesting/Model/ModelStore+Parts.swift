import MeshCore

/// The model is all parts of a store at once.
extension ModelStore: ControlStore, ZoneStore, LogStore, LocalWriteStore, CaptureStore, MergeStore, AssetStore,
  SchemaStore
{
  package var control: ModelStore { self }
  package var zones: ModelStore { self }
  package var log: ModelStore { self }
  package var localWrites: ModelStore { self }
  package var capture: ModelStore { self }
  package var merges: ModelStore { self }
  package var assets: ModelStore { self }
  package var schema: ModelStore { self }
}
