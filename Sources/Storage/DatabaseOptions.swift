/// What the layers that do not know pages need of them: what to open and how, and how to end a wait.
import MottePages

package typealias DatabaseOptions = PageStoreOptions
package typealias Cancellation = WaitCancellation
package typealias WriteGroup = PageGroup
package typealias WriteHolder = MottePages.WriteHolder
package typealias ScratchFile = MottePages.ScratchFile
