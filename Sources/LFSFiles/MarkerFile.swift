import Foundation
import LFSSystem

/// A small JSON file by which a folder says whose it is.
///
/// It is written in another folder, synced, read back and then renamed, so that a crash leaves a whole file or none. A
/// disk that reports a sync too early can still leave it empty or cut off after a power cut. A reader tells such a file
/// (``Content/damaged``) from one that another program has written (``Content/unknown``).
struct MarkerFile<Marker: Codable & Sendable>: Sendable {
    enum Content: Sendable {
        case missing
        /// Empty, cut off or overwritten: no JSON any more.
        case damaged
        /// Something that is whole and no such marker, or not a file of this user.
        case unknown
        case found(Marker)
    }

    typealias Put = @Sendable (Descriptor, UnsafeRawBufferPointer) throws -> Void

    static var longest: Int { 4_096 }

    let name: String
    private let put: Put

    init(_ name: String, put: @escaping Put = { try $0.write($1) }) {
        self.name = name
        self.put = put
    }

    /// Reads the marker.
    ///
    /// - Parameters:
    ///   - folder: the folder that it is in.
    ///   - fromDevice: reads from the device and not from the system's memory, which still has the file when its disk
    ///     is gone.
    func read(in folder: Directory, fromDevice: Bool = false) throws(SystemError) -> Content {
        let text: Data
        do {
            let file = try folder.openForReading(name)
            if fromDevice { file.dropCache() }
            let status = try file.status()
            guard status.isRegularFile, status.owner == FileStatus.currentUser, status.byteCount <= Self.longest else {
                return .unknown
            }
            text = try Self.contents(of: file)
        } catch let error where error.isMissing {
            return .missing
        } catch let error where error.isSymbolicLink {
            return .unknown
        }
        if let marker = Self.decode(text) { return .found(marker) }
        return Self.isJSON(text) ? .unknown : .damaged
    }

    /// Puts a marker in the place of the one that is there.
    ///
    /// - Parameter aside: a folder on the same file system for what is not whole yet.
    func replace(with marker: Marker, in folder: Directory, through aside: Directory) throws {
        let temporary = try write(marker, to: aside)
        try withRemoval(of: temporary, in: aside) { try aside.rename(temporary, to: folder, as: name) }
        try folder.synchronize()
    }

    /// Makes the marker.
    ///
    /// - Throws: a `SystemError` with `isExisting` when there is one by now.
    func make(_ marker: Marker, in folder: Directory, through aside: Directory) throws {
        let temporary = try write(marker, to: aside)
        try withRemoval(of: temporary, in: aside) { try aside.renameExclusively(temporary, to: folder, as: name) }
        try folder.synchronize()
    }

    /// Makes the marker under its name at once, so that a crash leaves no file under another; a damaged one is written
    /// over. Only for who holds the folder alone.
    func makeInPlace(_ marker: Marker, in folder: Directory) throws {
        let file = try folder.openOrCreate(name)
        guard try file.status().isSolelyOurs else { throw SystemError.shortWrite(file.path) }
        try withRemoval(of: name, in: folder) {
            try file.truncate(to: 0)
            try write(marker, to: file)
        }
        try folder.synchronize()
    }

    /// Returns the name of a durable file that has what was to be written.
    private func write(_ marker: Marker, to aside: Directory) throws -> String {
        let temporary = "\(name).\(FileID.make().text)"
        let file = try aside.create(temporary)
        try withRemoval(of: temporary, in: aside) { try write(marker, to: file) }
        return temporary
    }

    /// Returns when the disk has what was to be written.
    private func write(_ marker: Marker, to file: Descriptor) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = try encoder.encode(marker)
        try text.withUnsafeBytes { try put(file, $0) }
        try file.synchronize()
        guard try file.status().byteCount == text.count, try Self.contents(of: file) == text else {
            throw SystemError.shortWrite(file.path)
        }
    }

    private func withRemoval(of name: String, in aside: Directory, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            try aside.remove(name)
            throw error
        }
    }

    private static func contents(of file: Descriptor) throws(SystemError) -> Data {
        Data(try file.prefix(longest))
    }

    private static func decode(_ text: Data) -> Marker? {
        do { return try JSONDecoder().decode(Marker.self, from: text) } catch { return nil }
    }

    private static func isJSON(_ text: Data) -> Bool {
        do {
            _ = try JSONSerialization.jsonObject(with: text, options: .fragmentsAllowed)
            return true
        } catch {
            return false
        }
    }
}
