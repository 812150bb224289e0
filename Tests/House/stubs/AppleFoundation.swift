// Declarations of Apple's Foundation and Core Foundation that the open source Foundation lacks and this package uses.
// Only for typechecking with Tests/House/apple. Written from Apple's documentation.
import Dispatch
import Foundation
import FoundationNetworking
import Security

extension FileManager {
    func containerURL(forSecurityApplicationGroupIdentifier id: String) -> URL? { nil }
}

extension URLResourceKey {
    static var volumeAvailableCapacityForImportantUsageKey: URLResourceKey {
        URLResourceKey(rawValue: "NSURLVolumeAvailableCapacityForImportantUsageKey")
    }
}

extension URLResourceValues {
    var volumeAvailableCapacityForImportantUsage: Int64? { nil }
}

extension Stream {
    class func getBoundStreams(
        withBufferSize size: Int, inputStream: inout InputStream?, outputStream: inout OutputStream?
    ) {}
}

// On Apple platforms both names are one object (toll-free bridging).
typealias CFWriteStream = OutputStream

func CFWriteStreamSetDispatchQueue(_ stream: CFWriteStream, _ queue: DispatchQueue?) {}

enum tls_protocol_version_t { case TLSv12 }

extension URLSessionConfiguration {
    var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { .TLSv12 }
        set {}
    }
    var waitsForConnectivity: Bool {
        get { false }
        set {}
    }
}

extension URLSessionConfiguration {
    class func background(withIdentifier identifier: String) -> URLSessionConfiguration { .default }
    var sharedContainerIdentifier: String? {
        get { nil }
        set {}
    }
    var sessionSendsLaunchEvents: Bool {
        get { false }
        set {}
    }
    var isDiscretionary: Bool {
        get { false }
        set {}
    }
}

extension URLProtectionSpace {
    var serverTrust: SecTrust? { nil }
}

extension URLCredential {
    convenience init(trust: SecTrust) { self.init(user: "", password: "", persistence: .none) }
}
