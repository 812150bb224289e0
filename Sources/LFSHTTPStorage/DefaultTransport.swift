package import LFSHTTP
import LFSStorage

#if Curl && canImport(LFSCurl)
import LFSCurl
#endif

/// The engine that this platform has, for storages that were given no other transport. The package's trait `Curl`,
/// which is on by default, is about the one on libcurl.
package enum DefaultTransport {
    /// An engine of its own for one storage, or a stand-in whose every call says that there is none.
    package static func make(_ options: HTTPOptions) -> any HTTPTransport {
        #if Curl && canImport(LFSCurl)
        CurlTransport(options)
        #else
        MissingTransport()
        #endif
    }
}

/// Stands in where this package has no engine for the platform, or was built without it. It sends nothing.
struct MissingTransport: HTTPTransport {
    /// - Throws: ``StorageError/Code/misconfigured``, always.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        throw StorageError(
            .misconfigured,
            """
            There is no HTTP engine for this platform, or the package's trait Curl is off: switch that on, or give the \
            storage a transport in its options.
            """)
    }

    func shutdown() async {}
}
