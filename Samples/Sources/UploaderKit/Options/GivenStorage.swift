import ArgumentParser
import LFSStorage

/// A storage as somebody has written it, on this command line or on that of a run before, which the database remembers.
struct GivenStorage: Sendable {
    let argument: StorageArgument
    private let text: String

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        argument = try StorageArgument(parsing: text)
        self.text = text
    }

    /// What a later run can be given in its place, in any folder; nil where a name or a key stands in the address,
    /// which are not to be kept.
    func remembered(at location: StorageLocation) -> String? {
        if argument.localPath != nil { return location.description }
        return text.contains(/:\/\/[^\/?\s]*@/) ? nil : text
    }
}

/// A storage that was opened for a run.
struct OpenedStorage: Sendable {
    let storage: any RemoteStorage
    let location: StorageLocation
    let given: GivenStorage
}
