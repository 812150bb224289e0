import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire

/// A cache of the SHA-256s of large objects in a folder: `.digests/<hash of the key>`. The server has computed each
/// from all bytes of the object. The object need not be read again while its file stays the same.
///
/// If a record is missing or unreadable, the server reads the object.
struct FolderDigests: Sendable {
    struct Record: Codable, Hashable, Sendable {
        let key: String
        /// The entity tag of the file that was read or written. A copy of the file has another tag.
        let entityTag: String
        let sha256: String
        /// The upload in parts that produced the file, or nil if the file already existed.
        let upload: String?
    }

    private static let folderName = ".digests"
    private static let largest = 4_096

    let root: Directory

    /// Returns the record of an object, even if the object has changed since.
    func record(of key: ObjectKey) throws -> Record? {
        do {
            let file = try root.openFolder(Self.folderName).openForReading(Self.name(of: key))
            guard let record = Self.decoded(try file.prefix(Self.largest)), record.key == key.rawValue else {
                return nil
            }
            return record
        } catch let error where error.isMissing {
            return nil
        }
    }

    /// Stores a record durably.
    func keep(_ record: Record, of key: ObjectKey) throws {
        let folder = try root.openOrMake(Self.folderName)
        let name = UUID().uuidString.lowercased()
        do {
            let file = try folder.create(name)
            try file.write(Array(try WireFormat.encode(record)))
            try file.synchronize()
            try folder.rename(name, to: folder, as: Self.name(of: key))
        } catch {
            try folder.remove(name)
            throw error
        }
        try folder.synchronize()
    }

    func remove(_ key: ObjectKey) throws {
        do {
            try root.openFolder(Self.folderName).remove(Self.name(of: key))
        } catch let error where error.isMissing {
            // No record exists.
        }
    }

    /// Removes records without an object, and files that a crash has left behind.
    ///
    /// - Parameters:
    ///   - limit: a time in nanoseconds since 1970. Anything older is no longer in use.
    ///   - isCurrent: returns true if the object of a record still exists.
    func sweep(before limit: Nanoseconds, _ flag: CancellationFlag, _ isCurrent: (Record) throws -> Bool) throws {
        guard try root.status(of: Self.folderName) != nil else { return }
        let folder = try root.openFolder(Self.folderName)
        var names: [String] = []
        try folder.forEachFile { name in
            try flag.check()
            let isRecord = WireFormat.isHex(name, byteCount: 32)
            guard isRecord || UUID(uuidString: name) != nil else { return true }
            guard let status = try folder.status(of: name), status.changed < limit else { return true }
            if !isRecord { names.append(name) }
            if isRecord, try !isUseful(name, in: folder, isCurrent) { names.append(name) }
            return true
        }
        for name in names { try folder.remove(name) }
    }

    private func isUseful(_ name: String, in folder: Directory, _ isCurrent: (Record) throws -> Bool) throws -> Bool {
        guard let record = Self.decoded(try folder.openForReading(name).prefix(Self.largest)) else { return false }
        return try isCurrent(record)
    }

    private static func decoded(_ bytes: [UInt8]) -> Record? {
        // The record is from another version or a crash. The object is read instead.
        guard let record = try? JSONDecoder().decode(Record.self, from: Data(bytes)),
            WireFormat.isHex(record.sha256, byteCount: 32)
        else { return nil }
        return record
    }

    private static func name(of key: ObjectKey) -> String { ContentHash.hex(ofText: key.rawValue) }
}
