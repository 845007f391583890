public import MeshCore

/// The model is all parts of a store at once.
extension ModelStore: ControlStore, ZoneStore, LogStore, LocalWriteStore, CaptureStore, MergeStore, AssetStore,
  SchemaStore
{
  public var control: ModelStore { self }
  public var zones: ModelStore { self }
  public var log: ModelStore { self }
  public var localWrites: ModelStore { self }
  public var capture: ModelStore { self }
  public var merges: ModelStore { self }
  public var assets: ModelStore { self }
  public var schema: ModelStore { self }
}
