import Foundation
import LFSStorage
import LFSTesting

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A storage folder that keeps a hard link to every version of an object, so that a second upload of a file is detected
/// whichever process has done it, and also if that process was killed.
struct RecordingStorage: StorageWrapper {
    let base: any RemoteStorage
    private let folder: URL
    private let versions: URL

    init(in folder: URL) throws {
        self.folder = folder.appendingPathComponent("remote")
        versions = folder.appendingPathComponent("versions")
        base = try DirectoryStorage(at: self.folder)
        try FileManager.default.createDirectory(at: versions, withIntermediateDirectories: true)
    }

    func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try record(key)
        let object = try await base.upload(source, to: key, session: session)
        try record(key)
        return object
    }

    /// Keeps a link to the present version of an object. The link prevents that a later version gets the same inode.
    private func record(_ key: ObjectKey) throws {
        let object = folder.appendingPathComponent(key.rawValue).path
        guard let status = try? FileManager.default.attributesOfItem(atPath: object),
            let inode = status[.systemFileNumber] as? NSNumber
        else { return }
        let name = key.rawValue.replacingOccurrences(of: "/", with: "+")
        let version = versions.appendingPathComponent("\(name)#\(inode)").path
        guard link(object, version) != 0, errno != EEXIST else { return }
        throw StorageError(.unknown, message: "The version of \(key) was not recorded: \(errno)")
    }

    /// Returns the number of versions of each object.
    func versionCounts() throws -> [String: Int] {
        let names = try FileManager.default.contentsOfDirectory(atPath: versions.path)
        return Dictionary(grouping: names) { String($0.prefix { $0 != "#" }) }.mapValues(\.count)
    }

    /// Returns the number of objects.
    func objectCount() throws -> Int {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        return names.count { $0.contains("/") && !$0.hasSuffix(".part") }
    }
}
