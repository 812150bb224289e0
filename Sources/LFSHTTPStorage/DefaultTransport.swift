package import LFSHTTP
import LFSStorage

#if canImport(LFSCurl)
import LFSCurl
#endif

/// The engine that this platform has, for storages that were given no other transport.
package enum DefaultTransport {
    /// An engine of its own for one storage, or a stand-in whose every call says that there is none.
    package static func make(_ options: HTTPOptions) -> any HTTPTransport {
        #if canImport(LFSCurl)
        CurlTransport(options)
        #else
        MissingTransport()
        #endif
    }
}

/// Stands where this package has no engine for the platform. It sends nothing.
struct MissingTransport: HTTPTransport {
    /// - Throws: ``StorageError/Code/misconfigured``, always.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        throw StorageError(
            .misconfigured, "There is no HTTP engine for this platform: give the storage a transport in its options.")
    }

    func shutdown() async {}
}
