import ArgumentParser
import LFSStorage

/// A storage as a person has written it, on this command line or on an earlier one that the database records.
struct GivenStorage: Sendable {
    let argument: StorageArgument
    private let text: String

    /// - Throws: `ValidationError`, which ends the command with the status for a wrong command line.
    init(parsing text: String) throws {
        argument = try StorageArgument(parsing: text)
        self.text = text
    }

    /// Returns the argument for later runs, which is valid in any folder. Nil if the address contains a user name or a
    /// key, which must not be stored.
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
