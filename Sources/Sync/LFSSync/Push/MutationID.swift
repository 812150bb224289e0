import LFSSystem

/// A generator of permanent mutation ids, which are UUIDs of version 7.
enum MutationID {
    static func make() -> String { FileID.make().text }
}
