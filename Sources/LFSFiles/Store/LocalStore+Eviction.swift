import Foundation
package import LFSSystem

/// Taking a file out of the store, in two steps: its name goes at once, its bytes when there is time.
extension LocalStore {
    /// Takes a file from its name, in one quick step. Readers that have it open keep it. A folder in its place stays.
    ///
    /// - Returns: what to give to ``removeSetAside(_:)``; nil when the store does not have the file. After a crash in
    ///   between, the next one to open the store alone removes it.
    package func setAside(_ id: FileID) throws(SystemError) -> String? {
        let name = "\(id.text).\(FileID.make().text)"
        if try status(of: id)?.isDirectory == true { return nil }
        do {
            try directory.rename(id.text, to: incoming, as: name)
            return name
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Removes the bytes of a file that was set aside. Blocks the thread.
    package func removeSetAside(_ name: String) throws(SystemError) { try incoming.remove(name) }

    /// Removes the unfinished downloads that nobody writes at the moment. Blocks the thread.
    ///
    /// - Returns: how many bytes they had.
    package func clearUnfinished() throws -> Int64 {
        var names: [String] = []
        try incoming.forEachFile { name in
            names.append(name)
            return true
        }
        var bytes: Int64 = 0
        for name in names {
            guard let id = PartialFile.id(ofName: name), name == PartialFile.name(id) else { continue }
            guard let partial = try PartialFile.open(id, in: incoming) else { continue }
            bytes += try partial.file.status().byteCount
            try PartialFile.remove(id, in: incoming)
        }
        return bytes
    }

    /// How many bytes the disk of the store has left for this user.
    package func availableByteCount() throws(SystemError) -> Int64 { try directory.availableByteCount() }
}

extension LocalStore {
    /// Removes the files for which a question is answered with yes, here and in quarantine, and whatever is in
    /// `incoming/`. Only for the holder of the exclusive open lock.
    ///
    /// Names that are none of ours stay, and so do folders: somebody else has made what is in them. Blocks the thread.
    package func removeEverything(where mayGo: (FileID) -> Bool) throws {
        let cursor = try files()
        while let page = try cursor.next() { for file in page where mayGo(file.id) { try remove(file.id) } }
        try incoming.forEachFile { name in
            if try incoming.status(of: name)?.isDirectory == false { try incoming.remove(name) }
            return true
        }
        for file in try quarantined() where mayGo(file.id) { try removeQuarantined(file.id) }
    }
}
