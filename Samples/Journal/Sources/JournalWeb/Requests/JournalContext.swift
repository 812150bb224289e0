import Foundation
import Hummingbird
import JournalStorage
import LFSServer
import NIOCore

/// The context of a request, which the request guard passes to its route.
struct JournalContext: ConnectionContext {
    let channel: any Channel
    var coreContext: CoreRequestContextStorage
    /// The session of the browser. It is set before any route runs.
    var session = Session(id: "", isLoggedIn: false, expires: 0)
    /// The version of the page that the route makes. See ``LiveFeed``.
    var version = ""

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }

    /// Returns a part of the path that must be an id in lowercase.
    ///
    /// - Throws: ``WebError/Code/notFound``.
    func id(_ name: String = "id") throws(WebError) -> UUID {
        guard let text = parameters.get(name), let id = UUID(text: text) else { throw WebError.noSuchPage }
        return id
    }
}
