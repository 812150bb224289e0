import LFSSystem

/// Names a mutation, for ever: a UUID version 7.
enum MutationID {
    static func make() -> String { FileID.make().text }
}
